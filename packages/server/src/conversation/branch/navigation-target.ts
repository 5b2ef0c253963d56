import type { EventId, OpenAction } from '@parley/protocol'

/** The state at the point of the tree that a navigation moves to. */
export type NavigationTarget = {
  to: EventId | null
  open_actions: OpenAction[]
  last_user_message_id: string | null
  owes_step: boolean
}
