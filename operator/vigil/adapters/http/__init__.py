"""The guarded HTTP client: the only way from Vigil to an address that a Watch or a Secret names.

`addresses`, `urls` and `redirects` are pure and decide; `guard` holds what they decide at the resolver and at the
socket; `client` sends; `bound` is the client with one host and one credential, which is what a kind gets. Nothing here
knows a kind, or a status code beyond redirects and 401. No exception of aiohttp leaves it: all that a request raises
is `vigil.kind.transport.ReadError`.
"""
