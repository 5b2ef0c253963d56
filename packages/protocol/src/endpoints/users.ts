/** Endpoint rows for administrators: users. Source: decisions.md, Identity. */
import { z } from 'zod'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

export const UserState = z.enum(['active', 'disabled', 'deleting'])
/** `disabled`: the keys are refused and nothing runs. `deleting`: the same, and the data is being deleted. */
export type UserState = z.infer<typeof UserState>

export const UserInfo = z.object({ user: z.string(), state: UserState, created_at: z.string() })
/** A user as lists show it. */
export type UserInfo = z.infer<typeof UserInfo>

const operator = { tag: 'Keys', auth: 'session_key' } as const
const params = z.object({ user: z.string() })

export const listUsers = endpoint({
  operationId: 'listUsers',
  ...operator,
  method: 'GET',
  path: '/api/users',
  description: 'Lists the users in the order of their names; for administrators.',
  ok: { status: 200, schema: z.object({ items: z.array(UserInfo) }), description: 'Including disabled users' },
  errors: [403],
})

export const disableUser = endpoint({
  operationId: 'disableUser',
  ...operator,
  method: 'POST',
  path: '/api/users/{user}/disable',
  description:
    'Disables a user: refuses its keys, closes its connections, and ends everything that runs for it. For administrators.',
  params,
  ok: { status: 200, schema: Success, description: 'Disabled, also if it was before; nothing runs any more' },
  errors: [403, 404, 409],
})

export const enableUser = endpoint({
  operationId: 'enableUser',
  ...operator,
  method: 'POST',
  path: '/api/users/{user}/enable',
  description:
    'Accepts the keys of a disabled user again; its stopped conversations can be started. For administrators.',
  params,
  ok: { status: 200, schema: Success, description: 'Enabled, also if it was before' },
  errors: [403, 404, 409],
})

export const deleteUser = endpoint({
  operationId: 'deleteUser',
  ...operator,
  method: 'DELETE',
  path: '/api/users/{user}',
  description: 'Disables a user and deletes all its data; for administrators.',
  params,
  ok: {
    status: 200,
    schema: Success,
    description:
      'The deletion is recorded, and continues in the background, also after a restart. The list shows the user until it is complete',
  },
  errors: [403, 404, 409],
})
