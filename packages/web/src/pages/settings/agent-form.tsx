/** The form of an agent profile. Members that it does not show keep their values. */
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type AgentDraft, type AgentProfile, AGENTS_KEY, saveAgent } from '../../api/agents.ts'
import { type Refusal, refusalOf } from '../../lib/refusal.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { agents as words } from '../../words/agent-profiles.en.ts'
import { AcpFields } from './acp-fields.tsx'
import { DEFAULT_MODEL, NativeFields } from './agent-fields.tsx'
import { SettingsFrame } from './frame.tsx'
import './items.css'
import { leaveNote } from './note.ts'

type FormProps = {
  readonly kind: AgentDraft['agent_kind']
  /** Null: a new profile. */
  readonly profile: AgentProfile | null
  /** The first content of the field for the name. */
  readonly name: string
  /** The name of the stored profile that is changed; null: another one is made. */
  readonly before?: string | null
  readonly onClose: () => void
}

const FIELDS = ['name', 'new_name', 'acp_command', 'llm_profile_ref', 'tools'] as const
type Errors = Refusal<(typeof FIELDS)[number]>
const NO_ERRORS: Errors = { fields: {}, problem: '' }

const newDraft = (kind: AgentDraft['agent_kind']): AgentDraft =>
  kind === 'acp'
    ? { agent_kind: 'acp', acp_server: 'claude-code' }
    : { agent_kind: kind, llm_profile_ref: DEFAULT_MODEL }

export function AgentForm({ kind, profile, name: given, before = null, onClose }: FormProps) {
  const client = useQueryClient()
  const [name, setName] = useState(given)
  const [draft, setDraft] = useState<AgentDraft>(() => profile ?? newDraft(kind))
  const [errors, setErrors] = useState(NO_ERRORS)
  const [isBusy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    const lacks = lackOf(name, draft)
    setErrors({ fields: lacks, problem: '' })
    if (Object.keys(lacks).length > 0 || isBusy) return
    setBusy(true)
    try {
      const missing = await saveAgent(draft, name.trim(), before)
      const isProblem = missing.length > 0
      leaveNote({ isProblem, text: isProblem ? words.lacks(name, missing.join('; ')) : words.saved(name) })
      // The profile of this form may have another name now.
      await client.invalidateQueries({ queryKey: AGENTS_KEY, exact: true })
      onClose()
    } catch (error) {
      setErrors(refusalOf(error, FIELDS))
      setBusy(false)
    }
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void save()
  }
  return (
    <SettingsFrame of="agents" title={before ?? words.newTitle[kind]} lead={null}>
      <form className="settings-form" onSubmit={submit} noValidate>
        <Field label={words.name} hint={words.nameHint} error={errors.fields.name ?? errors.fields.new_name}>
          {(control) => (
            <input
              {...control}
              value={name}
              spellCheck={false}
              autoCapitalize="none"
              autoComplete="off"
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        {draft.agent_kind === 'acp' ? (
          <AcpFields draft={draft} error={errors.fields.acp_command} onChange={setDraft} />
        ) : (
          <NativeFields draft={draft} error={errors.fields.llm_profile_ref} onChange={setDraft} />
        )}
        {(errors.problem !== '' || errors.fields.tools !== undefined) && (
          <p className="dialog-problem" role="alert">
            {errors.fields.tools ?? errors.problem}
          </p>
        )}
        <div className="settings-foot">
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button look="primary" type="submit" disabled={isBusy}>
            {isBusy ? words.saving : words.save}
          </Button>
        </div>
      </form>
    </SettingsFrame>
  )
}

function lackOf(name: string, draft: AgentDraft): Errors['fields'] {
  const lacksCommand = draft.agent_kind === 'acp' && draft.acp_server === 'custom' && !draft.acp_command?.trim()
  return {
    ...(name.trim() === '' && { name: words.needs.name }),
    ...(lacksCommand && { acp_command: words.needs.command }),
  }
}
