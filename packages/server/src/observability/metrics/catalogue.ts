/** Every metric of the server. The table in docs/operations.md is generated from these rows. */
import type { Definition } from './families.ts'

const row = <const D extends Definition>(definition: D): D => definition

export const METRICS = {
  turns: row({
    name: 'parley_turns_total',
    type: 'counter',
    labels: ['end'],
    help: 'Turns that ended, by the status of the conversation afterwards.',
  }),
  steps: row({
    name: 'parley_steps_total',
    type: 'counter',
    labels: [],
    help: 'Steps of agents: answers of a model, or prompts of an ACP agent.',
  }),
  modelRequests: row({
    name: 'parley_model_request_seconds',
    type: 'histogram',
    labels: ['provider', 'outcome'],
    help: 'Seconds of one request to a model, until its answer is complete. The outcome is ok, error or cancelled; a repetition is a request of its own.',
  }),
  modelErrors: row({
    name: 'parley_model_errors_total',
    type: 'counter',
    labels: ['provider', 'code'],
    help: 'Requests to models that failed, by the code that a ConversationErrorEvent would have.',
  }),
  toolCalls: row({
    name: 'parley_tool_call_seconds',
    type: 'histogram',
    labels: ['tool', 'outcome'],
    help: 'Seconds of one call of a tool. Tools of MCP servers and of clients are other. The outcome is ok, error or cancelled.',
  }),
  storeCalls: row({
    name: 'parley_store_call_seconds',
    type: 'histogram',
    labels: ['call'],
    help: 'Seconds of one call of the store.',
  }),
  storeErrors: row({
    name: 'parley_store_errors_total',
    type: 'counter',
    labels: ['call'],
    help: 'Calls of the store that failed or were refused.',
  }),
  appendRetries: row({
    name: 'parley_append_retries_total',
    type: 'counter',
    labels: [],
    help: 'Appends and loads of conversations that the store refused and that are repeated.',
  }),
  forwards: row({
    name: 'parley_forwards_total',
    type: 'counter',
    labels: ['kind', 'outcome'],
    help: 'Attempts to pass a request or a socket on to the node that owns its conversation: answered, not_owner, unreached, or lost where the owner may have carried it out.',
  }),
  claims: row({
    name: 'parley_claims_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Conversations that this node asked to own: claimed for a request, orphan where it found one without an owner, refused or failed.',
  }),
  deliveries: row({
    name: 'parley_webhook_deliveries_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Attempts of webhook deliveries: delivered, retried or parked.',
  }),
  eventLoopDelay: row({
    name: 'parley_event_loop_delay_seconds',
    type: 'histogram',
    labels: [],
    help: 'Seconds by which a timer of the server was late; measured ten times a second from the first reading of the metrics on.',
  }),
  runs: row({
    name: 'parley_runs',
    type: 'gauge',
    labels: ['state'],
    help: 'Runs that hold a run slot, and runs that wait for one.',
  }),
  starts: row({
    name: 'parley_starts',
    type: 'gauge',
    labels: ['state'],
    help: 'Starts of conversations that are under way, and starts that wait for another one of their user.',
  }),
  queuedDeliveries: row({
    name: 'parley_webhook_queue',
    type: 'gauge',
    labels: ['status'],
    help: 'Webhook deliveries in the store that are pending or parked; all nodes of one database report the same number.',
  }),
  liveConversations: row({
    name: 'parley_live_conversations',
    type: 'gauge',
    labels: [],
    help: 'Conversations in memory.',
  }),
  sockets: row({
    name: 'parley_sockets',
    type: 'gauge',
    labels: [],
    help: 'Open sockets and event streams.',
  }),
  residentMemory: row({
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Memory of the process in bytes.',
  }),
  heap: row({
    name: 'parley_heap_bytes',
    type: 'gauge',
    labels: ['state'],
    help: 'Used and reserved bytes of the JavaScript heap, and bytes outside of it.',
  }),
  cpu: row({
    name: 'process_cpu_seconds_total',
    type: 'counter',
    labels: [],
    help: 'Processor time of the process in seconds.',
  }),
  startTime: row({
    name: 'process_start_time_seconds',
    type: 'gauge',
    labels: [],
    help: 'Start of the process in seconds since 1970.',
  }),
  build: row({
    name: 'parley_build_info',
    type: 'gauge',
    labels: ['version', 'node'],
    help: 'Always 1; the labels are the versions of Parley and Node.',
  }),
} as const satisfies Record<string, Definition>
