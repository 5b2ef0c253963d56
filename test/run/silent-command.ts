/** A command that prints nothing, and a model that waits for it with empty commands. */
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { message, start, starting } from '../../packages/server/testing/conversations.ts'

/**
 * Runs the command to its end. Returns the status of the conversation, the exit codes of the calls and the number of requests.
 * @param seconds how long the command prints nothing
 * @param limitSeconds the first limit of silence; 30 is the default of the terminal
 */
export async function waitForSilentCommand(seconds: number, limitSeconds: number, statusWithinMs: number) {
  const command = `sleep ${seconds}; echo the tests pass`
  await using model = await startScriptedModel({
    respond({ text }, index) {
      if (text.includes('\\nthe tests pass') || text.includes('"the tests pass')) return { text: 'All tests pass.' }
      return { toolCalls: [{ name: 'terminal', arguments: { command: index === 0 ? command : '' } }] }
    },
  })
  await using server = await startTestServer()
  const agent = { tools: [{ name: 'terminal', params: { no_change_timeout_seconds: limitSeconds } }] }
  const task = await start(
    server,
    starting(model, server.dir.file('work'), { agent, initial_message: message('run the tests') }),
  )
  const until = performance.now() + statusWithinMs
  for (let isOver = false; !isOver && performance.now() < until;)
    isOver = await task.is('finished', 'stuck', 'error').then(
      () => true,
      () => false,
    )
  const results = await task.kinds('ObservationEvent')
  return {
    status: (await task.info()).execution_status as string,
    exitCodes: results.map(({ observation }) => observation.exit_code as number | null),
    requests: model.requests.length,
  }
}
