/** Checks an etcd cluster: its members, their leader, versions and alarms. */
import { diagnose, knownFault, type EtcdMember } from '../../stores/etcd/diagnose.js'
import { etcdOptions } from '../../url/etcd.js'
import { failure, ok, warning, type Finding } from './check.js'

export async function checkEtcd(url: string): Promise<Finding[]> {
  try {
    const members = await diagnose(etcdOptions(url))
    return [...members.flatMap(describe), majority(members)]
  } catch (error) {
    return [failure('members', error)]
  }
}

function describe(member: EtcdMember): Finding[] {
  const { endpoint, version = '', leads, databaseBytes = 0, roundTripMs = 0 } = member
  if (member.failure !== undefined)
    return [warning('member', `${endpoint} does not answer: ${member.failure}`)]
  const role =
    leads === true ? 'leader' : member.hasLeader === true ? 'follower' : 'without a leader'
  const size = `${(databaseBytes / 1024 / 1024).toFixed(1)} MB`
  const text = `${endpoint}, etcd ${version}, ${role}, database ${size}, answered in ${roundTripMs.toFixed(1)} ms`
  const findings = [member.hasLeader === true ? ok('member', text) : warning('member', text)]
  const fault = knownFault(version)
  if (fault !== undefined) findings.push(warning('version', `etcd ${version}: ${fault}`))
  for (const alarm of member.alarms ?? []) findings.push(warning('alarm', `${endpoint}: ${alarm}`))
  return findings
}

function majority(members: readonly EtcdMember[]): Finding {
  const leaders = members.filter(({ leads }) => leads === true)
  const answering = members.filter((member) => member.failure === undefined)
  const text = `${answering.length} of ${members.length} members in the URL answer`
  if (answering.some(({ hasLeader }) => hasLeader === true)) {
    // The leader may be a member that the URL does not name.
    return members.length === 1 && leaders.length === 0
      ? warning('majority', `${text}; name the others too, so that locks outlive this one`)
      : ok('majority', text)
  }
  return failure('majority', {
    code: 'STORE_UNAVAILABLE',
    message: `${text}, and none knows a leader: no lock can be acquired`,
  })
}
