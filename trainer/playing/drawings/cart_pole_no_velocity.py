"""What is seen of it is all that there is to see of a cart and its pole."""

from .cart_pole import scene as scene
