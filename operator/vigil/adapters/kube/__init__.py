"""The API server: the only place that imports `kubernetes`, and of that its configuration and its connection pool.

What goes in and out is JSON as the API server has it. No error of the library, of aiohttp or of ssl leaves it.
"""
