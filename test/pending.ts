/**
 * Requirements that no test proves yet, grouped by what they wait for. A test that cites one takes it out of here
 * (`node scripts/settle-pending.mjs` does it); the gate in `requirements.test.ts` refuses an id that is cited and pending.
 */
export const pending: Readonly<Record<string, readonly string[]>> = {
  'ACP agents': [
    'seed.acp-model-info.model_id.switch',
    'seed.conversation-info.current_model_id.acp',
    'seed.conversation-info.current_model_id.unknown',
    'seed.conversation-info.current_model_id.native',
    'seed.conversation-info.available_models.verbatim',
    'seed.conversation-info.available_models.empty',
    'seed.conversation-info.available_models.override',
    'seed.conversation-info.supports_runtime_model_switch.true',
    'seed.conversation-info.supports_runtime_model_switch.false',
    'seed.agent.acp.acp_model.used',
    'seed.agent.acp.acp_model.null',
    'seed.agent.acp.acp_resume_session_id.precedence',
    'seed.agent.acp.acp_resume_session_id.fallback',
    'seed.agent.acp.acp_resume_session_id.secret',
  ],
}
