"""The keys and certificates of one control plane, made anew for each."""

import dataclasses
import datetime
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import oid

LIFETIME = datetime.timedelta(days=7)
SERVING_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclasses.dataclass(frozen=True)
class Certificates:
    """The files of one control plane."""

    ca: pathlib.Path
    serving_certificate: pathlib.Path
    serving_key: pathlib.Path
    service_account_key: pathlib.Path


def create(folder: pathlib.Path) -> Certificates:
    """Make an authority, a certificate it signed for loopback, and the key that signs ServiceAccount tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    files = Certificates(
        folder / "ca.crt", folder / "apiserver.crt", folder / "apiserver.key", folder / "service-account.key"
    )
    authority_key = ec.generate_private_key(ec.SECP256R1())
    serving_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key)
    serving = _serving(serving_key.public_key(), authority, authority_key)
    files.ca.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files.serving_certificate.write_bytes(serving.public_bytes(serialization.Encoding.PEM))
    _write_key(files.serving_key, serving_key)
    _write_key(files.service_account_key, rsa.generate_private_key(public_exponent=65537, key_size=2048))
    return files


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "control-plane-tests")])
    usage = _usage(signs_certificates=True)
    return (
        _builder(name, key.public_key())
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _serving(
    key: ec.EllipticCurvePublicKey, authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in ("127.0.0.1", "::1")]
    names = [x509.DNSName(name) for name in SERVING_NAMES]
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _builder(x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "kube-apiserver")]), key)
        .issuer_name(authority.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(issuer_key, critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _builder(subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(file: pathlib.Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
