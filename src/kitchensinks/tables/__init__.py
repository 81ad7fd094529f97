"""Where rows come from: validated arrays, frames and files, in blocks of bounded size."""
