/** Endpoint rows of the trajectory export. Source: conversation-service.md 2; agent-server-wire.md 1.8. */
import { z } from 'zod'
import { laxConversationId } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'

const params = z.object({ conversation_id: laxConversationId() })
const record = z.record(z.string(), z.unknown())

export const getTrajectory = endpoint({
  operationId: 'getTrajectory',
  tag: 'Conversations',
  auth: 'session_key',
  method: 'GET',
  path: '/api/conversations/{conversation_id}/trajectory',
  description: 'Returns the active branch in the form that `replay_json` accepts.',
  params,
  query: z.object({
    /** `events`: the events of this API. `v0`: the older trajectory format. */
    format: z.enum(['events', 'v0']).default('events'),
  }),
  isAuditedRead: true,
  ok: {
    status: 200,
    schema: z.object({ trajectory: z.array(record), working_dir: z.string() }),
    description: 'The events, secrets hidden, and the directory that their paths refer to',
  },
  errors: [404],
})

export const downloadTrajectory = endpoint({
  operationId: 'downloadTrajectory',
  tag: 'Files',
  auth: 'session_key',
  method: 'GET',
  path: '/api/file/download-trajectory/{conversation_id}',
  description: 'Returns the whole log and the state as a zip archive, secrets hidden.',
  params,
  isAuditedRead: true,
  ok: { status: 200, description: 'application/zip: base_state.json and events/event-<n>-<id>.json' },
  errors: [404],
})
