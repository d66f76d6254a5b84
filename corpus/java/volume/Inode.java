/** The in-core copy of an inode, used by one thread only. */
/*@ thread_local */
class Inode {
    public int number;
    public int kind;
    public int size;
    public int links;

    public Inode(int number) {
        this.number = number;
    }

    public String toString() {
        return "inode " + number + " kind " + kind + " size " + size;
    }
}
