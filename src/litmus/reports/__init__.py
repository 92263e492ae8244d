"""WHAT PEOPLE LOOK AT: from run directories to one page. Nothing here trains."""
