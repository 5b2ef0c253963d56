/** A new conversation: task, place, agent or model, and policy. Every choice has a default. */
import { type FormEvent, useState } from 'react'
import type { Place } from '../api/create.ts'
import { useMe } from '../api/me.ts'
import { useAgentProfiles, useSettings, useStartOf } from '../api/queries.ts'
import { creationOf } from '../lib/creations.ts'
import { keepDraft, readDraft } from '../lib/draft.ts'
import { useSearchParam } from '../lib/location.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { DEFAULT_POLICY, MOMENTS, policyOfSettings } from '../lib/policy.ts'
import { useCreation } from '../lib/use-creation.ts'
import { Button } from '../ui/button.tsx'
import { Choices } from '../ui/choices.tsx'
import { Field } from '../ui/field.tsx'
import { Failure } from '../ui/listing.tsx'
import { create as words } from '../words/create.en.ts'
import { en } from '../words/en.ts'
import { AgentField, ModelField } from './new-agent.tsx'
import { DirectoryFields, PlaceChoice, RepositoryFields } from './new-place.tsx'
import './new.css'

export function NewPage() {
  usePageTitle(words.title)
  const canWrite = useMe().data?.role !== 'read-only'
  return (
    <div className="page">
      <h1>{words.title}</h1>
      {canWrite ? <NewFrom /> : <p className="page-lead">{words.readOnly}</p>}
    </div>
  )
}

type Places = { readonly [K in 'repository' | 'directory']: Extract<Place, { kind: K }> }

/** Another attempt begins with the choices of the one before, as far as this page or the server knows them. */
function NewFrom() {
  const [from] = useSearchParam('from')
  const { data, error, refetch } = useStartOf(from)
  if (from !== null && data === undefined)
    return error === null ? null : <Failure error={error} onRetry={() => void refetch()} />
  const before = from === null ? undefined : creationOf(from)
  const place: Places['repository'] =
    before?.place.kind === 'repository'
      ? before.place
      : { kind: 'repository', repository: data?.selected_repository ?? '', branch: data?.selected_branch ?? '' }
  return <NewForm key={from} repository={place} givenTask={before?.task} givenModel={before?.modelProfile ?? null} />
}

type FormProps = {
  readonly repository: Places['repository']
  /** Undefined: the draft. */
  readonly givenTask: string | undefined
  readonly givenModel: string | null
}

function NewForm({ repository, givenTask, givenModel }: FormProps) {
  const [where] = useSearchParam('where')
  const [named] = useSearchParam('agent')
  const kind = where === 'repository' || where === 'directory' ? where : 'empty'
  const [task, setTask] = useState(() => givenTask ?? readDraft())
  const [places, setPlaces] = useState<Places>({
    repository,
    directory: { kind: 'directory', path: '', worktree: false },
  })
  const [agentProfile, setAgentProfile] = useState<string | null>(named)
  const [modelProfile, setModelProfile] = useState(givenModel)
  const [chosen, setChosen] = useState<(typeof MOMENTS)[number] | null>(null)
  const [missing, setMissing] = useState<string | null>(null)
  const profiles = useAgentProfiles().data
  const settings = useSettings().data
  const usual = settings === undefined ? DEFAULT_POLICY : policyOfSettings(settings)
  const creation = useCreation()
  const place: Place = kind === 'empty' ? { kind } : places[kind]
  const start = (): void => {
    const lacks = lackOf(place)
    setMissing(lacks)
    if (lacks !== null || creation.isPending) return
    const agent = agentProfile ?? profiles?.active_agent_profile_id ?? profiles?.profiles[0]?.id ?? null
    const policy = chosen === null ? null : { ...usual, when: chosen }
    creation.mutate({ task, place, agentProfile: agent, modelProfile, policy })
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    start()
  }
  return (
    <form className="new" onSubmit={submit} noValidate>
      <Field label={words.task} hint={words.taskHint}>
        {(control) => (
          <textarea
            {...control}
            value={task}
            placeholder={en.home.placeholder}
            onChange={(event) => {
              setTask(event.target.value)
              keepDraft(event.target.value)
            }}
          />
        )}
      </Field>
      <PlaceChoice chosen={kind} />
      {kind === 'repository' && (
        <RepositoryFields
          place={places.repository}
          error={missing}
          onChange={(repository) => setPlaces({ ...places, repository })}
        />
      )}
      {kind === 'directory' && (
        <DirectoryFields
          place={places.directory}
          error={missing}
          onChange={(directory) => setPlaces({ ...places, directory })}
        />
      )}
      {kind === 'directory' ? (
        <AgentField chosen={agentProfile} onChoose={setAgentProfile} />
      ) : (
        <ModelField chosen={modelProfile} onChoose={setModelProfile} />
      )}
      <Choices
        label={words.policy}
        choices={MOMENTS.map((id) => ({
          id,
          title: words.policies[id],
          text: words.policyTexts[id === 'risky' ? usual.from : id],
        }))}
        chosen={chosen ?? usual.when}
        onChoose={setChosen}
      />
      {creation.isError && <Failure error={creation.error} onRetry={start} />}
      <div className="new-foot">
        <Button look="primary" type="submit" disabled={creation.isPending}>
          {creation.isPending ? words.starting : words.submit}
        </Button>
      </div>
    </form>
  )
}

/** What a place lacks, in words; null: nothing. */
function lackOf(place: Place): string | null {
  if (place.kind === 'repository' && place.repository.trim() === '') return words.needs.repository
  if (place.kind === 'directory' && place.path.trim() === '') return words.needs.directory
  return null
}
