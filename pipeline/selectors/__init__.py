"""What screens and endpoints show. A bounded number of statements each, and no locks."""
