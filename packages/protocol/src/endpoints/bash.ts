/** Rows for commands outside a conversation. Source: agent-server-wire.md 1.7. */
import { z } from 'zod'
import { BashCommand, BashEvent, BashOutput, ExecuteBashRequest } from '../bash.ts'
import { laxEventTime } from '../lax-text.ts'
import { laxInt } from '../lax.ts'
import { endpoint } from './endpoint.ts'

const bash = { tag: 'Bash', auth: 'session_key' } as const

export const startBashCommand = endpoint({
  ...bash,
  method: 'POST',
  path: '/api/bash/start_bash_command',
  summary: 'Start a command and answer at once',
  body: ExecuteBashRequest,
  ok: { status: 200, schema: BashCommand, description: 'Started' },
  errors: [],
})

export const executeBashCommand = endpoint({
  ...bash,
  method: 'POST',
  path: '/api/bash/execute_bash_command',
  summary: 'Run a command to its end',
  body: ExecuteBashRequest,
  ok: { status: 200, schema: BashOutput, description: 'The last output; earlier ones are found by search' },
  errors: [],
})

export const searchBashEvents = endpoint({
  ...bash,
  method: 'GET',
  path: '/api/bash/bash_events/search',
  summary: 'A page of commands and outputs, in the order they were stored',
  query: z.object({
    kind__eq: z.enum(['BashCommand', 'BashOutput']).optional(),
    /** With or without dashes. */
    command_id__eq: z.string().optional(),
    timestamp__gte: laxEventTime().optional(),
    timestamp__lt: laxEventTime().optional(),
    /** Leaves out outputs up to this place. */
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
  ...bash,
  method: 'GET',
  path: '/api/bash/bash_events/',
  summary: 'Several commands and outputs by id; the ids come as a JSON body',
  body: z.array(z.string()),
  ok: { status: 200, schema: z.array(BashEvent.nullable()), description: 'In the order asked; null for an unknown id' },
  errors: [],
})

export const getBashEvent = endpoint({
  ...bash,
  method: 'GET',
  path: '/api/bash/bash_events/{event_id}',
  summary: 'One command or output',
  params: z.object({ event_id: z.string() }),
  ok: { status: 200, schema: BashEvent, description: 'The event' },
  errors: [404],
})

export const clearBashEvents = endpoint({
  ...bash,
  method: 'DELETE',
  path: '/api/bash/bash_events',
  summary: 'Forget all commands and outputs',
  ok: { status: 200, schema: z.object({ cleared_count: z.int() }), description: 'Forgotten' },
  errors: [],
})

/** Literal paths stand before those with a parameter in the same place. */
export const bashRows = [
  startBashCommand,
  executeBashCommand,
  searchBashEvents,
  batchGetBashEvents,
  getBashEvent,
  clearBashEvents,
] as const
