"""Parts of pages: safe HTML, heat tables, arrays, blocks."""
