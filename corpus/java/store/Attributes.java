/** What a caller is told about a file. */
//@ thread_local
class Attributes {
    int size;
    boolean folder;
    int status;
}
