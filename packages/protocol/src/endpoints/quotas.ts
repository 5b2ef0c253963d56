/** Endpoint rows for the limits of users. Source: docs/quotas.md. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'

export const Quota = z.object({
  /** As in the setting `user_limits`. */
  name: z.string(),
  /** Null: no limit. */
  limit: z.number().nullable(),
  /** Null: nothing is counted, as for the size of one upload. */
  used: z.number().nullable(),
  /** Runs or starts that wait for another one to end. */
  waiting: z.int(),
})
/** A limit of a user, and how much of it is used. */
export type Quota = z.infer<typeof Quota>

export const UserQuotas = z.object({
  user: z.string(),
  quotas: z.array(Quota),
  /** Answers of models in the month without a known price, which cost nothing here. */
  unpriced_answers: z.int(),
})
/** The limits of a user, and how much of them is used. */
export type UserQuotas = z.infer<typeof UserQuotas>

const quota = { tag: 'Quotas', auth: 'session_key' } as const

export const readQuotas = endpoint({
  operationId: 'readQuotas',
  ...quota,
  method: 'GET',
  path: '/api/quotas',
  description: "Returns the limits of the key's user, and how much of them is used.",
  ok: { status: 200, schema: UserQuotas, description: 'The limits' },
  errors: [],
})

export const listQuotas = endpoint({
  operationId: 'listQuotas',
  ...quota,
  method: 'GET',
  path: '/api/quotas/users',
  description:
    'Lists the limits of every user with stored conversations, costs or uploads, by name; for administrators.',
  ok: { status: 200, schema: z.object({ items: z.array(UserQuotas) }), description: 'The users' },
  errors: [403],
})
