/** The columns of a conversation, joined with its record. */
const COLUMNS =
  'c.id, c.owner, c.created_at, c.updated_at, c.seq, c.epoch, c.node, c.place, c.status, c.parent_conversation_id, r.record'
export const ROWS_SQL = `SELECT ${COLUMNS} FROM conversations c JOIN records r ON r.conversation = c.n`
