/** Sends the decision about a batch, and lets the run continue as the person chose. */
import { server } from '../api/server.ts'

export type Answer = { readonly isAccepted: boolean; readonly reason: string; readonly stops: boolean }

type Batch = {
  readonly batchId: string
  /** True: the conversation asks for one of its sub-agents. */
  readonly isForSubAgent: boolean
  /** The path of a request to the conversation that asks. */
  readonly path: (rest: string) => string
}

/**
 * `onAccepted` is called when the server has the decision; a request after it can still fail.
 * @throws ServerError with status 409 when the batch does not wait any more.
 */
export async function respond(
  { batchId, isForSubAgent, path }: Batch,
  { isAccepted, reason, stops }: Answer,
  onAccepted: () => void,
): Promise<void> {
  const body = { accept: isAccepted, batch_id: batchId, ...(reason === '' ? {} : { reason }) }
  await server.call('POST', path('/events/respond_to_confirmation'), { body })
  onAccepted()
  // The server stops after a refusal; only a sub-agent's parent continues by itself.
  if (stops && isForSubAgent) await server.call('POST', path('/interrupt'))
  if (!stops && !isAccepted && !isForSubAgent) await server.call('POST', path('/run'), { body: {} })
}
