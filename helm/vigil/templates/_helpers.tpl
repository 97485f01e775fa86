{{- define "vigil.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "vigil.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "vigil.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "vigil.selectorLabels" -}}
app.kubernetes.io/name: {{ include "vigil.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vigil.labels" -}}
{{ include "vigil.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "vigil.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "vigil.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed with serviceAccount.create: false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "vigil.tokenSecretName" -}}
{{- default (printf "%s-token" (include "vigil.fullname" .)) .Values.sidecar.auth.existingSecret -}}
{{- end -}}

{{- define "vigil.claimName" -}}
{{- default (printf "%s-data" (include "vigil.fullname" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{- define "vigil.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* host:port to listen on; an IPv6 address goes in brackets. */ -}}
{{- define "vigil.listen" -}}
{{- if contains ":" .host -}}[{{ .host }}]:{{ .port }}{{- else -}}{{ .host }}:{{ .port }}{{- end -}}
{{- end -}}

{{- /* How sessions reach the sidecar. */ -}}
{{- define "vigil.publicUrl" -}}
{{- default (printf "http://%s.%s.svc:%d" (include "vigil.fullname" .) .Release.Namespace (int .Values.service.port)) .Values.sidecar.publicUrl -}}
{{- end -}}

{{- define "vigil.receiverFiles" -}}
{{- $files := list -}}
{{- range $name, $_ := .Values.receivers -}}
{{- $files = append $files (printf "%s=/etc/vigil/receivers/%s" $name $name) -}}
{{- end -}}
{{- join "," $files -}}
{{- end -}}

{{- /* What both containers are told. */ -}}
{{- define "vigil.commonEnv" -}}
- name: VIGIL_LOG_LEVEL
  value: {{ .Values.log.level | quote }}
- name: VIGIL_LOG_FORMAT
  value: {{ .Values.log.format | quote }}
{{- with .Values.network.allowedAddresses }}
- name: VIGIL_ALLOWED_ADDRESSES
  value: {{ join "," . | quote }}
{{- end }}
{{- if .Values.network.caBundle.configMap }}
- name: VIGIL_CA_FILE
  value: /etc/vigil/ca/ca.crt
{{- end }}
{{- end -}}

{{- define "vigil.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "vigil.commonMounts" -}}
- {name: token, mountPath: /etc/vigil/token, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.network.caBundle.configMap }}
- {name: ca, mountPath: /etc/vigil/ca, readOnly: true}
{{- end }}
{{- end -}}

{{- define "vigil.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 2
  failureThreshold: 45
livenessProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{- /* What is needed in every namespace whose Watches are served: as a ClusterRole, or as a Role in each. */ -}}
{{- define "vigil.watchRules" -}}
- apiGroups: [vigil.dev]
  resources: [watches]
  # A patch adds and removes the finalizer, and nothing else: the spec belongs to its author.
  verbs: [get, list, watch, patch]
- apiGroups: [vigil.dev]
  resources: [watches/status]
  verbs: [get, update]
{{- if or (empty .Values.kinds) (has "kubernetes_rollout" .Values.kinds) }}
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [list]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
{{- end }}
{{- end -}}

{{- define "vigil.subject" -}}
- kind: ServiceAccount
  name: {{ include "vigil.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}
