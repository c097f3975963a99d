"""Who handed in what: from paths to source texts."""
