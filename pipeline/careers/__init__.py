"""A company's careers page, and its jobs as other sites and search engines read them."""
