"""The HTTP door: assistants and programs on other machines reach a vault's agent through it, each with its token.

`door` opens it, `app` answers requests, `rest` has the verbs as JSON, `streamable` the Model Context Protocol.
"""
