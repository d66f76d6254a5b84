//! Rule `search`: a finite instance, searched again. To be filled.
