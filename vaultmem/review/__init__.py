"""Proposals of dreams and models, and what a person decides about them."""
