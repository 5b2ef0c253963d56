import { newConversationId as parsable, parseConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { newConversationId } from './conversation-id.ts'

test('a conversation id of the client is a canonical random UUID, as the server makes them', () => {
  const ids = Array.from({ length: 1000 }, newConversationId)
  expect(new Set(ids).size).toBe(1000)
  const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  expect(parsable()).toMatch(version4)
  for (const id of ids) {
    expect(id).toMatch(version4)
    expect(parseConversationId(id)).toBe(id)
  }
})
