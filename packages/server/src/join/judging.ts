/** Joins goals to models: who judges the work of an agent. Source: agent-core.md 3.7 (2); 11.1 (llm is a placeholder). */
import { LLM, ParleyError, type AgentBase } from '@parley/protocol'
import { isConfigured } from '../llm/index.ts'

/**
 * The agent's own model, else the one that its owner has set up by then: an ACP agent has none that could be asked.
 * @param usersModel an LLM record of the user's settings and the server's configuration, as they are now
 * @returns a function that throws ParleyError `bad_request` when nobody could judge an ACP agent
 */
export const judgeModels =
  (usersModel: (owner: string) => Promise<Record<string, unknown>>) =>
  async (owner: string, { kind, llm }: Pick<AgentBase, 'kind' | 'llm'>): Promise<LLM> => {
    if (isConfigured(llm)) return llm
    const users = LLM.parse({ ...llm, ...(await usersModel(owner)) })
    if (isConfigured(users)) return users
    // What is wrong with a model of its own is said when that is asked.
    if (kind === 'Agent') return llm
    throw new ParleyError(
      'bad_request',
      'A goal needs a model that judges the work, and an ACP agent has none that could be asked. ' +
        'Set `llm_model` and `llm_api_key` with POST /api/settings, or give `agent.llm` when the conversation starts.',
    )
  }
