"""The certificates an address needs."""

import ssl


def certificates(url: str) -> ssl.SSLContext | bool:
    """Return what an HTTP client verifies the address with: nothing can pass for an address without TLS.

    Loading the certificates of the world takes some 40 ms, which a server on this machine need not cost.
    """
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.startswith("http://") else True
