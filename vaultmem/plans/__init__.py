"""The jobs as pure steps on a draft: they look at memories and say what should become of them."""
