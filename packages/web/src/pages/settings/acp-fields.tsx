/** The fields of an external agent. */
import type { AgentDraft } from '../../api/agents.ts'
import { Field } from '../../ui/field.tsx'
import { agents as words } from '../../words/agent-profiles.en.ts'

type Draft = Extract<AgentDraft, { agent_kind: 'acp' }>
type FieldsProps = {
  readonly draft: Draft
  readonly error: string | undefined
  readonly onChange: (draft: Draft) => void
}

const PLAIN = { spellCheck: false, autoCapitalize: 'none', autoComplete: 'off' } as const

export function AcpFields({ draft, error, onChange }: FieldsProps) {
  const isCustom = draft.acp_server === 'custom'
  return (
    <>
      <Field label={words.server}>
        {(control) => (
          <select
            {...control}
            value={draft.acp_server}
            onChange={(event) => onChange({ ...draft, acp_server: event.target.value })}
          >
            {Object.entries(words.serverNames).map(([id, title]) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label={isCustom ? words.command : words.commandOptional}
        hint={isCustom ? words.commandHint : words.commandUsual}
        error={error}
      >
        {(control) => (
          <input
            {...control}
            {...PLAIN}
            className="input item-code"
            value={draft.acp_command ?? ''}
            onChange={(event) => onChange({ ...draft, acp_command: event.target.value || null })}
          />
        )}
      </Field>
      <Field label={words.acpModel} hint={words.acpModelHint}>
        {(control) => (
          <input
            {...control}
            {...PLAIN}
            value={draft.acp_model ?? ''}
            onChange={(event) => onChange({ ...draft, acp_model: event.target.value || null })}
          />
        )}
      </Field>
    </>
  )
}
