"""Values to look at: windows, pictures, previews, tables, summaries.  Pure."""
