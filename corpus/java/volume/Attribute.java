/** What a client is told about a file. */
/*@ thread_local */
class Attribute {
    int status;
    int size;
    int kind;

    Attribute() {
        status = Const.OK;
    }
}
