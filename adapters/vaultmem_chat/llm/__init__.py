"""Language models behind OpenAI-compatible services: requests, answers, keys."""
