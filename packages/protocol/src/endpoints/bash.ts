/** Endpoint rows of commands outside a conversation. Source: agent-server-wire.md 1.7. */
import { z } from 'zod'
import { BashCommand, BashEvent, BashOutput, ExecuteBashRequest } from '../bash.ts'
import { laxEventTime } from '../lax-text.ts'
import { laxInt } from '../lax.ts'
import { endpoint } from './endpoint.ts'
import { list, LIST_LIMITS } from '../lists.ts'

const bash = { tag: 'Bash', auth: 'session_key' } as const

export const startBashCommand = endpoint({
  operationId: 'startBashCommand',
  ...bash,
  method: 'POST',
  path: '/api/bash/start_bash_command',
  description: 'Starts a command and returns at once.',
  body: ExecuteBashRequest,
  ok: { status: 200, schema: BashCommand, description: 'Started' },
  errors: [429],
})

export const executeBashCommand = endpoint({
  operationId: 'executeBashCommand',
  ...bash,
  method: 'POST',
  path: '/api/bash/execute_bash_command',
  description: 'Runs a command and returns when it has ended.',
  body: ExecuteBashRequest,
  ok: { status: 200, schema: BashOutput, description: 'The last output; the search returns earlier outputs' },
  errors: [429],
})

export const searchBashEvents = endpoint({
  operationId: 'searchBashEvents',
  ...bash,
  method: 'GET',
  path: '/api/bash/bash_events/search',
  description: 'Returns a page of commands and outputs, in the order in which they were stored.',
  query: z.object({
    kind__eq: z.enum(['BashCommand', 'BashOutput']).optional(),
    /** With or without dashes. */
    command_id__eq: z.string().optional(),
    timestamp__gte: laxEventTime().optional(),
    timestamp__lt: laxEventTime().optional(),
    /** Omits outputs up to and including this `order`. */
    order__gt: laxInt().optional(),
    sort_order: z.enum(['TIMESTAMP', 'TIMESTAMP_DESC']).default('TIMESTAMP'),
    page_id: z.string().optional(),
    limit: laxInt({ gt: 0, le: 100 }).default(100),
  }),
  ok: {
    status: 200,
    schema: z.object({ items: z.array(BashEvent), next_page_id: z.string().nullable() }),
    description: 'The page',
  },
  errors: [],
})

export const batchGetBashEvents = endpoint({
  operationId: 'batchGetBashEvents',
  ...bash,
  method: 'GET',
  path: '/api/bash/bash_events/',
  description: 'Returns commands and outputs by id; the ids are a JSON body.',
  body: list(z.string(), { max: LIST_LIMITS.ids }),
  ok: {
    status: 200,
    schema: z.array(BashEvent.nullable()),
    description: 'In the requested order; null for an unknown id',
  },
  errors: [],
})

export const getBashEvent = endpoint({
  operationId: 'getBashEvent',
  ...bash,
  method: 'GET',
  path: '/api/bash/bash_events/{event_id}',
  description: 'Returns a command or an output.',
  params: z.object({ event_id: z.string() }),
  ok: { status: 200, schema: BashEvent, description: 'The event' },
  errors: [404],
})

export const clearBashEvents = endpoint({
  operationId: 'clearBashEvents',
  ...bash,
  method: 'DELETE',
  path: '/api/bash/bash_events',
  description: 'Removes all stored commands and outputs.',
  ok: { status: 200, schema: z.object({ cleared_count: z.int() }), description: 'The number of removed entries' },
  errors: [],
})
