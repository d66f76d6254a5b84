//! methods: to be filled.
