"""An OpenAI-compatible server that gives a model its memory: chats are passed on with it, turns are stored."""
