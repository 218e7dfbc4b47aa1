#!/usr/bin/env bash
# A real Slurm of two nodes on this one machine, on 127.0.0.1 alone. As root; Debian: apt-get install slurm-wlm munge.
#   tests/cluster/real/slurm.sh up FOLDER [NODES [CPUS]]    then: export SLURM_CONF=FOLDER/slurm.conf
#   tests/cluster/real/slurm.sh down FOLDER
# Each node has two pretended GPUs. The partition `low` is preempted (requeued) by the partition `high`.
set -euo pipefail
export PATH="$PATH:/usr/sbin"

up() {
    local folder=$1 nodes=${2:-2} cpus=${3:-2} host
    host=$(hostname -s)
    mkdir -p "$folder"/{state,spool,log,run,cards}
    # They stand in for /dev/nvidia0 and 1: Slurm numbers them, nothing opens them.
    for each in 0 1; do [ -e "$folder/cards/card$each" ] || mknod "$folder/cards/card$each" c 1 3; done
    if ! [ -s /etc/munge/munge.key ]; then
        (umask 077 && dd if=/dev/urandom of=/etc/munge/munge.key bs=1 count=1024 2>/dev/null && chown munge: /etc/munge/munge.key)
    fi
    install -d -o munge -g munge -m 0755 /run/munge
    if ! [ -S /run/munge/munge.socket.2 ]; then
        runuser -u munge -- munged
        cp /run/munge/munged.pid "$folder/run/munged.pid" # ours to end
    fi
    # cred_expire: a requeued job starts no sooner than that; 120 seconds by default.
    cat >"$folder/slurm.conf" <<CONF
ClusterName=needlework
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=5
SlurmctldTimeout=30
SlurmdTimeout=30
SchedulerParameters=sched_interval=5,bf_interval=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd.%n.pid
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[26821-$((26820 + nodes))] CPUs=$cpus RealMemory=4000 Gres=gpu:2
PartitionName=debug Nodes=n[1-$nodes] Default=YES State=UP MaxTime=60 PriorityTier=5
PartitionName=low Nodes=n[1-$nodes] State=UP MaxTime=60 PriorityTier=1
PartitionName=high Nodes=n[1-$nodes] State=UP MaxTime=60 PriorityTier=9 PreemptMode=OFF
CONF
    echo "NodeName=n[1-$nodes] Name=gpu File=$folder/cards/card[0-1]" >"$folder/gres.conf"
    export SLURM_CONF="$folder/slurm.conf"
    slurmctld -f "$SLURM_CONF" -c
    for each in $(seq "$nodes"); do
        mkdir -p "$folder/spool/n$each"
        slurmd -f "$SLURM_CONF" -N "n$each"
    done
    for _ in $(seq 60); do
        [ "$(timeout 10 sinfo -h -N -p debug -o %T | sort -u)" = idle ] && return
        sleep 0.5
    done
    timeout 10 sinfo -N -l
    return 1
}

down() {
    for file in "$1"/run/*.pid; do
        [ -e "$file" ] && kill "$(cat "$file")" 2>/dev/null || true
    done
}

"$@"
