/** Conversations of a scripted model for the scenarios, made through the API of the server. */
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import type { TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'

/** The model answers by the words of the task: `deploy` asks for a risky command, `wait` answers when the model ends. */
export async function startTaskModel(): Promise<ScriptedModel> {
  const never = Promise.withResolvers<never>()
  return startScriptedModel({
    respond: ({ view }) => {
      if (view.lastUserText.includes('wait')) return never.promise
      if (view.lastUserText.includes('deploy') && view.assistantTurns === 0) return { toolCalls: [DEPLOY] }
      return { text: 'Done.' }
    },
  })
}

const DEPLOY = {
  name: 'terminal',
  arguments: { command: 'git push --force origin main', summary: 'Publish the release', security_risk: 'HIGH' },
}

/** Stores the model as that of the settings. */
export async function useModel(server: TestServer, model: ScriptedModel): Promise<void> {
  const settings = { llm_model: 'openai/scripted', llm_base_url: `${model.url}/v1`, llm_api_key: 'scripted' }
  await server.call('POST', '/api/settings', settings)
}

/** Starts a conversation with a title and a task. Resolves to its id when it has the status. */
export async function converse(
  server: TestServer,
  title: string,
  task: string,
  status: 'finished' | 'running' | 'waiting_for_confirmation',
): Promise<string> {
  const { body } = await server.call('POST', '/api/conversations', {})
  const id: string = body.conversation_id
  const at = `/api/conversations/${id}`
  if (status === 'waiting_for_confirmation')
    await server.call('POST', `${at}/confirmation_policy`, { policy: { kind: 'AlwaysConfirm' } })
  await server.call('PATCH', at, { title })
  await server.call('POST', `${at}/events`, { content: [{ type: 'text', text: task }], run: true })
  await until(async () => (await server.call('GET', at)).body.execution_status === status)
  return id
}
