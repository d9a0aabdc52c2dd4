"""What is registered: requests, the book of subscriptions, and the compiled form in which workers get them."""
