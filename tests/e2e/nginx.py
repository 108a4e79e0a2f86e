"""nginx in front of a site, with a certificate of its own; as docs/service.md says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings

from tests.processes import free_port, until

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
CONFIGURATION = """
daemon off; worker_processes 1; pid {place}/pid; error_log stderr; {user}
events {{}}
http {{
    access_log off; {temporary}
    server {{
        listen 127.0.0.1:{port} ssl; server_name {name};
        ssl_certificate {place}/certificate.pem; ssl_certificate_key {place}/key.pem;
        {location}
        location = /favicon.ico {{ return 204; }}
    }}
}}
"""


def program() -> str | None:
    """The machine's own, or the one that `make test-all` took out of its package."""
    places = [os.environ["PATH"], "/usr/sbin", f"{sys.prefix}/nginx/usr/sbin"]
    return shutil.which("nginx", path=os.pathsep.join(places))


@contextmanager
def in_front_of(site: int, name: str, place: Path) -> Iterator[str]:
    """The address under which nginx answers, and passes on to the site at that port."""
    found = program()
    assert found, "no nginx"
    port = free_port()
    _certify(name, place)
    documented = (settings.BASE_DIR / "docs" / "service.md").read_text()
    location = re.search(r"^location .*?^}", documented, re.MULTILINE | re.DOTALL)
    assert location
    text = CONFIGURATION.format(
        place=place,
        port=port,
        name=name,
        user="user root;" if os.getuid() == 0 else "",
        temporary="".join(f"{each}_temp_path {place}/{each};" for each in TEMPORARY),
        location=location[0].replace(":8000", f":{site}"),
    )
    (place / "nginx.conf").write_text(text)
    process = subprocess.Popen([found, "-e", "stderr", "-p", place, "-c", place / "nginx.conf"])
    try:
        until(lambda: (place / "pid").exists() or process.poll() is not None, "nginx")
        assert process.poll() is None
        yield f"https://{name}:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _certify(name: str, place: Path) -> None:
    """Write a key, and a certificate that it signed itself."""
    key, who = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (place / "certificate.pem").write_bytes(made.public_bytes(pem))
    (place / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
