/** The fields of an agent of this server. */
import { type AgentDraft, useToolNames } from '../../api/agents.ts'
import { useModelProfiles, useSettings } from '../../api/queries.ts'
import { Checks } from '../../ui/checks.tsx'
import { Field } from '../../ui/field.tsx'
import { agents as words } from '../../words/agent-profiles.en.ts'
import { AllOrSome } from './all-or-some.tsx'

/** The name of the model of the settings, unless a model profile has it. */
export const DEFAULT_MODEL = 'default'

type Draft = Extract<AgentDraft, { agent_kind: 'openhands' }>
type FieldsProps = {
  readonly draft: Draft
  readonly error: string | undefined
  readonly onChange: (draft: Draft) => void
}

const ABILITIES = ['enable_sub_agents', 'enable_switch_llm_tool'] as const

export function NativeFields({ draft, error, onChange }: FieldsProps) {
  const tools = useToolNames().data ?? []
  const servers = useSettings().data?.agent_settings.mcp_config ?? {}
  const { enable_sub_agents = false, enable_switch_llm_tool = true } = draft
  const chosen = ABILITIES.filter((one) => ({ enable_sub_agents, enable_switch_llm_tool })[one])
  return (
    <>
      <ModelField draft={draft} error={error} onChange={onChange} />
      <AllOrSome
        label={words.tools}
        all={words.allTools}
        some={words.someTools}
        names={tools}
        chosen={draft.tools?.map(({ name }) => name) ?? null}
        onChange={(names) => onChange({ ...draft, tools: names && toolsNamed(names, draft.tools) })}
      />
      <AllOrSome
        label={words.servers}
        all={words.allServers}
        some={words.someServers}
        names={Object.keys(servers)}
        none={words.noServers}
        chosen={draft.mcp_server_refs ?? null}
        onChange={(names) => onChange({ ...draft, mcp_server_refs: names && [...names] })}
      />
      <Checks
        label={words.abilities}
        choices={[
          { id: 'enable_sub_agents', ...words.subAgents },
          { id: 'enable_switch_llm_tool', ...words.switchModel },
        ]}
        chosen={chosen}
        onToggle={(id, isOn) => onChange({ ...draft, [id]: isOn })}
      />
      <Field label={words.suffix} hint={words.suffixHint}>
        {(control) => (
          <textarea
            {...control}
            value={draft.system_message_suffix ?? ''}
            onChange={(event) => onChange({ ...draft, system_message_suffix: event.target.value || null })}
          />
        )}
      </Field>
    </>
  )
}

/** The tools of these names; one that was there before keeps its parameters. */
const toolsNamed = (names: readonly string[], before: Draft['tools']) =>
  names.map((name) => before?.find((tool) => tool.name === name) ?? { name, params: {} })

function ModelField({ draft, error, onChange }: FieldsProps) {
  const profiles = useModelProfiles().data?.profiles ?? []
  const ref = draft.llm_profile_ref
  const isKnown = ref === DEFAULT_MODEL || profiles.some(({ name }) => name === ref)
  return (
    <Field label={words.model} hint={words.modelHint} error={error}>
      {(control) => (
        <select
          {...control}
          value={ref}
          onChange={(event) => onChange({ ...draft, llm_profile_ref: event.target.value })}
        >
          {!profiles.some(({ name }) => name === DEFAULT_MODEL) && (
            <option value={DEFAULT_MODEL}>{words.settingsModel}</option>
          )}
          {!isKnown && <option value={ref}>{words.missing(ref)}</option>}
          {profiles.map(({ name, model }) => (
            <option key={name} value={name}>
              {model === null ? name : `${name} · ${model}`}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
