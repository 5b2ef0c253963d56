/** The columns of a conversation `c`, joined with its record `r`. */
export const COLUMNS =
  'c.id, c.owner, c.created_at, c.updated_at, c.seq, c.epoch, c.node, c.place, c.status, c.parent_conversation_id, r.record'
