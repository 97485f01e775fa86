"""The resource, its manifests and its status."""
