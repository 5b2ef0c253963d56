/** Endpoint rows of the demo. Source: docs/web-ui.md, The first minute. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'

const demo = { tag: 'Demo', auth: 'session_key', path: '/api/demo' } as const

export const StartedDemo = z.object({ conversation_id: z.string() })
/** The conversation of the demo. */
export type StartedDemo = z.infer<typeof StartedDemo>

export const startDemo = endpoint({
  operationId: 'startDemo',
  ...demo,
  method: 'POST',
  description:
    'Starts a conversation in which a scripted model fixes a failing test with real tools; it needs no model and asks for one approval.',
  ok: { status: 201, schema: StartedDemo, description: 'Started' },
  also: [{ status: 200, schema: StartedDemo, description: 'The demo of this user that has not ended' }],
  errors: [],
})

export const deleteDemo = endpoint({
  operationId: 'deleteDemo',
  ...demo,
  method: 'DELETE',
  description: 'Deletes the demo that this user started last, with its files.',
  ok: { status: 204, description: 'Deleted' },
  errors: [404],
})
