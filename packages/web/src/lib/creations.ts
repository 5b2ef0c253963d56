/** The choices of conversations that this page has created, for another attempt after a failed start. */
import type { NewConversation } from '../api/create.ts'

const KEPT = 20
const known = new Map<string, NewConversation>()

export function rememberCreation(id: string, choices: NewConversation): void {
  known.set(id, choices)
  const [oldest] = known.keys()
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest)
}

export const creationOf = (id: string): NewConversation | undefined => known.get(id)
