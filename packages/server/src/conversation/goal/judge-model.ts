/** The model that judges goals. Source: agent-core.md 3.7, 11.1. */
import { type LLM, ParleyError, type AgentBase } from '@parley/protocol'
import { usersModelFor } from '../../llm/index.ts'

/**
 * The agent's own model, or else the model that its owner has set up: an ACP agent has none that could be asked.
 * @param isConfigured returns true when a request to a model can be sent
 * @param usersModel an LLM record of the user's settings and the server's configuration, as they are now
 * @returns a function that throws ParleyError `bad_request` when no model can judge an ACP agent
 */
export const judgeModels =
  (isConfigured: (llm: LLM) => boolean, usersModel: (owner: string) => Promise<Record<string, unknown>>) =>
  async (owner: string, { kind, llm }: Pick<AgentBase, 'kind' | 'llm'>): Promise<LLM> => {
    if (isConfigured(llm)) return llm
    const users = usersModelFor(llm, await usersModel(owner))
    if (users !== null && isConfigured(users)) return users
    // A native agent without a model fails with its own error when the model is asked.
    if (kind === 'Agent') return llm
    throw new ParleyError(
      'bad_request',
      'A goal needs a model that judges the work, and an ACP agent has none that could be asked. ' +
        'Set `llm_model` and `llm_api_key` with POST /api/settings, or give `agent.llm` when the conversation starts.',
    )
  }
