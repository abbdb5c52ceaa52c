/** Where a peer can be reached, as its row in the database says. */
export interface SocketAddress {
  readonly id: string
  readonly socket: string
  readonly inode: string
  readonly pidNamespace: string
}
