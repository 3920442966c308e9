// Shortened output of Slurm 22.05.8: `scontrol --oneliner show node`, `... partition`, `scontrol show
// config`.
#pragma once

inline constexpr const char* rack_nodes =
    "NodeName=node1 Arch=x86_64 CoresPerSocket=4  CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=1.98 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:fake:4 NodeAddr=node1 NodeHostName=node1 "
    "Version=22.05.8 OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=4000 AllocMem=0 FreeMem=21276 "
    "Sockets=1 "
    "Boards=1 State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
    "Partitions=main,short,low,high  BootTime=2026-11-20T11:24:24 SlurmdStartTime=2026-11-20T15:02:08 "
    "LastBusyTime=2026-11-20T15:02:08 CfgTRES=cpu=4,mem=4000M,billing=4 AllocTRES= CapWatts=n/a "
    "CurrentWatts=0 "
    "AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s\n"
    "NodeName=node2 Arch=x86_64 CoresPerSocket=4  CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=1.98 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null) NodeAddr=node2 NodeHostName=node2 "
    "Version=22.05.8 OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=4000 AllocMem=0 FreeMem=21276 "
    "Sockets=1 "
    "Boards=1 State=DOWN* ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=main,short "
    "BootTime=None SlurmdStartTime=None LastBusyTime=2026-11-20T15:02:08 CfgTRES=cpu=4,mem=4000M,billing=4 "
    "AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 "
    "ExtSensorsTemp=n/s "
    "Reason=Not responding [slurm@2026-11-20T15:09:12]\n";

inline constexpr const char* rack_partitions =
    "PartitionName=main AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A "
    "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED "
    "MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=node[1-2] PriorityJobFactor=1 "
    "PriorityTier=10 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP "
    "TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED "
    "MaxMemPerNode=UNLIMITED TRES=cpu=8,mem=8000M,node=2,billing=8\n"
    "PartitionName=short AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A "
    "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=2 MaxTime=00:02:00 "
    "MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=node[1-2] PriorityJobFactor=1 PriorityTier=10 "
    "RootOnly=NO "
    "ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=8 TotalNodes=2 "
    "SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED "
    "TRES=cpu=8,mem=8000M,node=2,billing=8\n";

inline constexpr const char* rack_config =
    "Configuration data as of 2026-11-20T15:02:08\nAccountingStorageEnforce = none\n"
    "MaxArraySize            = 1001\nMaxJobCount             = 10000\nSLURM_VERSION           = 22.05.8\n";
