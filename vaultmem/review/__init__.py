"""Proposals of dreams and models, and the person's decisions on them."""
