"""An OpenAI-compatible server that gives a model memory: it adds memories to chats, passes them on and stores
turns."""
